/// The metadata of a gRPC status that says which error of Baton it stands for.
package enum ErrorMetadata {
  /// The key of Baton's own error code, which is sent beside gRPC's code. It tells "unavailable" (the coordinator takes
  /// nothing now) from "unavailable" (no coordinator is there).
  package static let code = "baton-code"
  /// The key of the delay before a retry, in milliseconds, as gRPC defines it
  /// (https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
  package static let retry = "grpc-retry-pushback-ms"
}
