"""Tools of policies that act: rollouts, trajectories, options as actions of environments."""
