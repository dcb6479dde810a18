"""Admission: who may send now, why the others wait, and until when."""
