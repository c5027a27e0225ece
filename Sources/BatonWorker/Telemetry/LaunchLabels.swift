import BatonModel
import BatonTelemetry
import ServiceContextModule
import Tracing

/// What every span of a launch says of it.
struct LaunchLabels: Sendable {
  private let definition: String
  private let identifier: String
  private let request: Int64
  private let launch: Int64
  private let host: String

  var runName: String { Names.Span.run.name(of: definition) }
  var batchName: String { Names.Span.batch.name(of: definition) }

  init(_ assignment: Assignment, _ definition: Definition, host: HostName) {
    self.definition = definition.pattern.rawValue
    identifier = assignment.identifier.rawValue
    (request, launch) = (Int64(assignment.requestNumber), Int64(assignment.launch.number))
    self.host = host.rawValue
  }

  func add(to attributes: inout SpanAttributes) {
    attributes.set(Names.Attribute.definition, value: .string(definition))
    attributes.set(Names.Attribute.identifier, value: .string(identifier))
    attributes.set(Names.Attribute.request, value: .int64(request))
    attributes.set(Names.Attribute.launch, value: .int64(launch))
    attributes.set(Names.Attribute.host, value: .string(host))
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
