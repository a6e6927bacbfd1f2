"""Worlds to act in. Importing this package registers them with gymnasium, where that is installed.

::

    gymnasium.make("fairseq_struct.environments:fairseq_struct/Craft-v0", task="DCA")
    gymnasium.make_vec("fairseq_struct.environments:fairseq_struct/Craft-v0", num_envs=256,
                       vectorization_mode="vector_entry_point", task="DCA", reward="dense")
"""

CRAFT = "fairseq_struct/Craft-v0"


def _register():
    try:
        import gymnasium
    except ImportError:
        return
    if CRAFT not in gymnasium.registry:
        gymnasium.register(
            CRAFT,
            entry_point=f"{__name__}.craft:CraftEnv",
            vector_entry_point=f"{__name__}.craft_vector:CraftVectorEnv",
        )


_register()
