// Whoever tests a handler names tasks, errors and reasons: importing BatonTestKit is enough to do so.
@_exported public import BatonHandler
