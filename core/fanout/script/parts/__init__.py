"""`partition()`: folders, files of records and lists."""
