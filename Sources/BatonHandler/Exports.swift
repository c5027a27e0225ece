// Handlers name kinds, reasons and results, which are the model's: importing BatonHandler is enough to do so.
@_exported public import BatonModel
