"""`torch.nn`: modules and their calls. The functions of `torch.nn.functional` are in `torch_functions`."""
