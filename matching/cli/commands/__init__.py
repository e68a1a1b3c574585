"""The commands: a module for two pictures, for one thing in many, and for each subcommand."""
