"""The batch lane: gathering, handing in, watching and reading batches."""
