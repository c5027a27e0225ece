import BatonBase
import BatonHandler
import BatonModel
import BatonTelemetry
import BatonWire
import Foundation
import Logging
import ServiceContextModule
import Synchronization
import Testing
import Tracing

@testable import BatonCore
@testable import BatonWorker

/// A worker with tracing. The test plays its coordinator, and handlers move its clocks.
struct TracingStation {
  static let base = Timestamp(nanoseconds: 1_000_000_000_000)
  /// The span of the launch that `Bench.assignment` makes.
  static let launchSpan = Bench.trace.spanID

  let worker: Worker
  let tracer: any Tracer
  let sink: SpanCollector
  let time: Mutable<Duration>
  private let connection = Connection()
  private let fixture: CommandFixture

  /// - Parameters:
  ///   - tracer: the worker's tracer; `nil` for Baton's own, which gives its spans to `sink`.
  ///   - secrets: the secrets of the host, which every definition may use.
  init(
    tracer: (any Tracer)? = nil, sampling: BatchSampling = BatchSampling(interval: 0),
    endsProcessOnOverrun: Bool = false, secrets: SecretFixture? = nil,
    logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), handler: Handler? = nil
  ) throws {
    let (time, sink) = (Mutable(Duration.zero), SpanCollector())
    let numbers = Mutable(UInt64(100))
    self.tracer =
      tracer
      ?? BatonTracer(sink: sink) {
        numbers.change { $0 += 1 }
        return numbers.value
      }
    fixture = try CommandFixture()
    var configuration = WorkerConfiguration(name: "anna", dataFolder: fixture.root + "/data", slots: 4)
    configuration.batchSampling = sampling
    configuration.sandbox = .off
    if let secrets {
      configuration.sandbox.secrets = [
        SecretPermission(files: SecretPattern("**")!, identifiers: [IdentifierPattern("com.*")!])
      ]
      configuration.sandbox.secretFolder = secrets.commands.confinement.secrets
    }
    configuration.endsProcessOnOverrun = endsProcessOnOverrun
    configuration.flushTelemetry = { sink.flush() }
    worker = Worker(
      configuration, incarnation: Incarnation("a1"), logger: logger, connector: nil,
      clocks: Clocks(
        instant: { Instant(nanoseconds: time.value.nanoseconds) }, sleep: { _ in }, date: { Self.base + time.value }))
    (self.time, self.sink) = (time, sink)
    if let handler { worker.register("com.example.a", handler: handler) }
  }

  /// Runs one launch. Every commit is confirmed at once unless `answer` does something else.
  /// - Returns: the ending that the worker reports.
  @discardableResult
  func run(
    _ assignment: Assignment = Bench.assignment(1), _ definition: Definition = Bench.job(),
    answer: (WorkerMessage) -> CoordinatorMessage? = TracingStation.commits
  ) async throws -> Ending {
    worker.decide { $0.connected(at: Instant(nanoseconds: 0)) }
    worker.state.withLock { [connection] state in state.connection = connection }
    hears(.welcome(leaseTerm: Bench.term))
    hears(.definition(DefinitionID(1), definition))
    hears(.launch(assignment))
    return try await withTracer(tracer) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { [worker, fixture] in await worker.startLoop(fixture.processes, fixture.folders) }
        defer { worker.starts.close() }
        return try await ending(answer)
      }
    }
  }

  func hears(_ message: CoordinatorMessage) {
    worker.decide { $0.received(message, at: Instant(nanoseconds: time.value.nanoseconds)) }
  }

  private func ending(_ answer: (WorkerMessage) -> CoordinatorMessage?) async throws -> Ending {
    while let messages = await connection.up.receive() {
      for message in messages {
        if case .ended(let ending) = message { return ending }
        if let answer = answer(message) { hears(answer) }
      }
    }
    throw CancellationError()
  }

  static func commits(_ message: WorkerMessage) -> CoordinatorMessage? {
    if case .checkpoint(let checkpoint) = message {
      .committed(checkpoint.launch, batch: checkpoint.batch)
    } else {
      nil
    }
  }

  /// A definition whose command is this shell script, with the station's folder as its working directory.
  func command(_ script: String, items: Items?) -> Definition {
    Bench.job { $0.work = fixture.shell(script, items: items) }
  }

  // MARK: What was sent

  var run: SpanRecord? { sink.spans.first { $0.name == "run com.example.a" } }
  var batches: [SpanRecord] { sink.spans.filter { $0.name == "batch com.example.a" } }

  /// `0 first`, `7 slow`: the batches that were sent, in the order of their numbers.
  var samples: [String] {
    batches.sorted { $0.number(Names.Attribute.batch)! < $1.number(Names.Attribute.batch)! }.map {
      "\($0.number(Names.Attribute.batch)!) \($0.text(Names.Attribute.batchSample)!)"
    }
  }

  subscript(_ name: String) -> SpanRecord? { sink.spans.first { $0.name == name } }

  func batch(_ number: Int64) -> SpanRecord? { batches.first { $0.number(Names.Attribute.batch) == number } }
}

/// Collects the spans in the order in which they ended.
final class SpanCollector: SpanSink {
  private let collected = Mutex<[SpanRecord]>([])
  private let flushed = Mutex<[Int]>([])

  var spans: [SpanRecord] { collected.withLock { $0 } }
  func add(_ span: SpanRecord) { collected.withLock { $0.append(span) } }
  func flush() {
    let count = spans.count
    flushed.withLock { $0.append(count) }
  }
  /// How many spans had ended at each flush.
  var flushes: [Int] { flushed.withLock { $0 } }
}

/// A value that tests and handlers share.
final class Mutable<Value: Sendable>: Sendable {
  private let state: Mutex<Value>
  init(_ value: Value) { state = Mutex(value) }
  var value: Value { state.withLock { $0 } }
  func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}

extension SpanRecord {
  subscript(_ key: String) -> AttributeValue? { attributes.first { $0.key == key }?.value }
  func number(_ key: String) -> Int64? { if case .int(let value) = self[key] { value } else { nil } }
  func text(_ key: String) -> String? { if case .string(let value) = self[key] { value } else { nil } }
  /// The start and the end, in seconds of the station's clock.
  var seconds: [Double] { [start, end].map { ($0 - TracingStation.base).inSeconds } }
}

struct Broken: Error, CustomStringConvertible {
  var description = "it is broken"
}
