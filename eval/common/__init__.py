"""Tools that the experiments share: tables, options of scripts, a journal of finished runs."""
