"""What a broker answers to administrative requests of clients."""
