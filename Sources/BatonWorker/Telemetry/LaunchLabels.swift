import BatonModel
import BatonTelemetry
import ServiceContextModule
import Tracing

/// The attributes that describe a launch in the spans of its run and its batches.
struct LaunchLabels: Sendable {
  private let definition: String
  private let host: HostName
  private let identifier: JobIdentifier
  private let launch: Int
  private let request: Int
  private let kind: JobKind
  private let firstBatch: Int
  /// The attribute of the shard; empty for a request that is not divided.
  private let shard: [Attribute]

  var runName: String { Names.Span.run.name(of: definition) }
  var batchName: String { Names.Span.batch.name(of: definition) }

  init(_ assignment: Assignment, _ definition: Definition, host: HostName) {
    (self.definition, self.host, identifier) = (definition.pattern.rawValue, host, assignment.identifier)
    (launch, request) = (assignment.launch.number, assignment.requestNumber)
    (kind, firstBatch) = (definition.kind, assignment.progress.batches)
    shard = assignment.shard.map { [Attribute(Names.Attribute.shard, .int(Int64($0.index)))] } ?? []
  }

  /// The attributes of a batch's span at its end, sorted by key.
  func attributes(ofBatch batch: Int, _ reason: BatchSampler.Reason, checkpointBytes: Int?) -> [Attribute] {
    var attributes = [Attribute(Names.Attribute.batch, .int(Int64(batch)))]
    attributes.reserveCapacity(10)
    if reason == .repeated { attributes.append(Attribute(Names.Attribute.batchRepeated, true)) }
    attributes.append(Attribute(Names.Attribute.batchSample, .string(reason.rawValue)))
    if let checkpointBytes {
      attributes.append(Attribute(Names.Attribute.checkpointBytes, .int(Int64(checkpointBytes))))
    }
    attributes += [
      Attribute(Names.Attribute.definition, .string(definition)),
      Attribute(Names.Attribute.host, .string(host.rawValue)),
      Attribute(Names.Attribute.identifier, .string(identifier.rawValue)),
      Attribute(Names.Attribute.launch, .int(Int64(launch))),
      Attribute(Names.Attribute.request, .int(Int64(request))),
    ]
    attributes += shard
    return attributes
  }

  /// The attributes of a run's span at its end, sorted by key. Attributes that are added in this order need not be
  /// sorted again.
  func attributes(ofRun end: RunEnd, batches: Int) -> [Attribute] {
    [
      Attribute(Names.Attribute.definition, .string(definition)),
      Attribute(Names.Attribute.host, .string(host.rawValue)),
      Attribute(Names.Attribute.identifier, .string(identifier.rawValue)),
      Attribute(Names.Attribute.kind, .string(kind.rawValue)),
      Attribute(Names.Attribute.batches, .int(Int64(batches))),
      Attribute(Names.Attribute.firstBatch, .int(Int64(firstBatch))),
      Attribute(Names.Attribute.launch, .int(Int64(launch))),
      Attribute(Names.Attribute.launchOutcome, .string(end.outcome.code)),
      Attribute(Names.Attribute.request, .int(Int64(request))),
    ] + shard
  }
}

extension Assignment {
  /// The launch's span as a context. It is used for log lines about the launch, and as the parent of its run.
  var context: ServiceContext {
    var context = ServiceContext.topLevel
    context.spanContext = SpanContext(trace)
    return context
  }
}
