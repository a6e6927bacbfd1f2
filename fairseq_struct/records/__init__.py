"""Records of results, the tables made from them, and the logs of trainings."""
