"""One attempt's life in a pod, and the order of many."""
