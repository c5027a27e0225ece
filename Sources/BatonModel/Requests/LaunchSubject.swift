/// The names of a launch for people and for a tracing backend. Log lines, spans and commands all use these names.
package struct LaunchSubject: Hashable, Sendable {
  package var identifier: JobIdentifier
  /// The number of the request within its identifier.
  package var request: Int
  /// The number of the launch within its request, from 1.
  package var launch: Int
  /// The number of the shard that the launch worked on, from 0; `nil` if the request was not divided.
  package var shard: Int?
  /// The trace of the request, with the launch's span.
  package var trace: TraceContext

  package init(identifier: JobIdentifier, request: Int, launch: Int, shard: Int? = nil, trace: TraceContext) {
    (self.identifier, self.request, self.launch) = (identifier, request, launch)
    (self.shard, self.trace) = (shard, trace)
  }
}

extension Assignment {
  package var subject: LaunchSubject {
    LaunchSubject(
      identifier: identifier, request: requestNumber, launch: launch.number, shard: shard?.index, trace: trace)
  }
}
