"""False alarms and power, measured: Levelfield's rule beside those of other tools, on one stream of real windows."""
