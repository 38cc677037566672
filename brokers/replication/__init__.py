"""Leaders, followers, the ISR and the high watermark of the replicas on one broker."""
