"""What each client program is started with, and what its event stream means."""
