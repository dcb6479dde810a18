"""What a run will take, and whether somebody is to be asked before it does."""
