"""Option-controller networks and what they are compared with: imitation, and reinforcement."""
