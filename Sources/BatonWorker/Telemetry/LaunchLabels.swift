import BatonModel
import BatonTelemetry
import ServiceContextModule
import Tracing

/// What every span of a launch says of it.
struct LaunchLabels: Sendable {
  private let definition: String
  /// By key, as all attributes of a span go.
  let attributes: [Attribute]

  var runName: String { Names.Span.run.name(of: definition) }
  var batchName: String { Names.Span.batch.name(of: definition) }

  init(_ assignment: Assignment, _ definition: Definition, host: HostName) {
    self.definition = definition.pattern.rawValue
    attributes = [
      Attribute(Names.Attribute.definition, .string(definition.pattern.rawValue)),
      Attribute(Names.Attribute.host, .string(host.rawValue)),
      Attribute(Names.Attribute.identifier, .string(assignment.identifier.rawValue)),
      Attribute(Names.Attribute.launch, .int(Int64(assignment.launch.number))),
      Attribute(Names.Attribute.request, .int(Int64(assignment.requestNumber))),
    ]
  }
}

extension Assignment {
  /// The launch's span as a context: of log lines about it, and the parent of its run.
  var context: ServiceContext {
    var context = ServiceContext.topLevel
    context.spanContext = SpanContext(trace)
    return context
  }
}

extension Timestamp {
  var forTracer: DefaultTracerClock.Timestamp {
    DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: UInt64(clamping: nanoseconds))
  }
}
