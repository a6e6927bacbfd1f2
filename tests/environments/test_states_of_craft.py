"""States of worlds, as of a damaged checkpoint, that no world has."""

import pytest

from fairseq_struct.environments.craft_rules import CraftOptions
from fairseq_struct.environments.craft_worlds import CraftWorlds
from fairseq_struct.errors import InputError


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("cells", (0, 1, 2), 2**30), ("cells", (0, 1, 2), 5), ("cells", (1, 0, 0), 0),
     ("places", (0, 0), 2**20), ("places", (0, 1), 0), ("facing", 1, 4), ("done", 0, 9),
     ("outcome", 0, 7), ("inventory", (0, 0), -1)],
)  # fmt: skip
def test_a_state_that_no_world_has_is_refused(name, place, value):
    """With it, kernels would leave their arrays."""
    worlds = CraftWorlds(CraftOptions("A", size=4, kinds="A"), 2)
    for world in range(2):
        worlds.set_map(world, "####\n#>A#\n#..#\n####")
    state = worlds.state()
    worlds.load_state(state)
    state[name][place] = value
    with pytest.raises(InputError, match="of Craft: "):
        worlds.load_state(state)
