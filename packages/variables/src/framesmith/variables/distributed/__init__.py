"""`torch.distributed`: process groups as known objects, collectives as nodes of the graph.

Everything else of the package (point to point, objects, making groups) runs natively, each call as one graph break.
"""
