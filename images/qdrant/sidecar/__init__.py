"""The Qdrant sidecar: Qdrant's own engine (qdrant-edge) behind the part of its REST interface that clients use.

Start-up counts in every trial, so the modules that `serve` needs import neither `typing` nor `dataclasses` nor
`http.server`.
"""
