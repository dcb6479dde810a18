"""The simulated account: the Messages API on loopback, in its own process.

It is an independent check of the rest of the product and therefore imports none
of it. Three halves, each in files of its own:

- what decides, on plain numbers and text, with the time as an argument:
  `buckets`, `limiter`, `ramp`, `cache`, `faults`, `tokens`, `headers`,
  `validation`, `admission`, `account`;
- the scripted model, an honest little auditor: `reading`, `audit`, `facts`,
  `brain`, `prose`, `filling`, `directives`;
- what touches the world: `server`, `generation`, `control`, `clock`, and
  `process`, the only file its parent imports.
"""
