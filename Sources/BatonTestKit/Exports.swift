// The tests of a handler name types of BatonHandler, such as `JobTask`, `HandlerError` and `ExpiryReason`. This export
// lets them do so with `import BatonTestKit` alone.
@_exported public import BatonHandler
