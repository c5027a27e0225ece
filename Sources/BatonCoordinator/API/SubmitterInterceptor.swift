import BatonModel
import GRPCCore

/// Reads the caller's span from the call's metadata, where instrumented gRPC clients put it
/// (https://www.w3.org/TR/trace-context/#traceparent-header).
struct SubmitterInterceptor: ServerInterceptor {
  /// The caller's span of the current call; nil if the call has none.
  @TaskLocal static var span: TraceContext?

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    let text = request.metadata[stringValues: "traceparent"].first { _ in true }
    return try await Self.$span.withValue(text.flatMap(TraceContext.init(traceparent:))) {
      try await next(request, context)
    }
  }
}
