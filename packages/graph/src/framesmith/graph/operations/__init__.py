"""What has to be known of one operation: what it changes, what may fail, what it reads."""
