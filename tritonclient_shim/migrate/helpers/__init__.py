"""The functions that migrated files import: their sources are what ``emitted`` writes."""
