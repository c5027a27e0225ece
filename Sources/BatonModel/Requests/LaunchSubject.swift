/// What names a launch to a person and to a tracing backend: the same words in log lines, spans and commands.
package struct LaunchSubject: Hashable, Sendable {
  package var identifier: JobIdentifier
  /// The request's number within its identifier.
  package var request: Int
  /// The launch's number within its request, from 1.
  package var launch: Int
  /// The span of the launch, in the trace of its request.
  package var trace: TraceContext

  package init(identifier: JobIdentifier, request: Int, launch: Int, trace: TraceContext) {
    (self.identifier, self.request, self.launch, self.trace) = (identifier, request, launch, trace)
  }
}

extension Assignment {
  package var subject: LaunchSubject {
    LaunchSubject(identifier: identifier, request: requestNumber, launch: launch.number, trace: trace)
  }
}
