"""The way from the controller to the brokers: requests are gathered into batches and sent over one channel per broker."""
