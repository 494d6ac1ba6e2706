"""Here is a text. What does a model make of it?

Fetches, builds and runs models: embedders, cross-encoders, language models. The only room that knows ONNX graphs,
tokenizers and model hubs. Not for keeping vectors or for ranking.
"""
