// The API for handlers has types of BatonModel, such as `JobKind`, `ExpiryReason` and `RefreshResult`. This export lets
// a handler name them with `import BatonHandler` alone.
@_exported public import BatonModel
