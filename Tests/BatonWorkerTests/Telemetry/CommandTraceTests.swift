import BatonModel
import BatonTelemetry
import Testing
import Tracing

@testable import BatonCore
@testable import BatonProcess
@testable import BatonWorker

/// What a command learns about its trace, and what the backend learns about the command.
@Suite(.timeLimit(.minutes(10))) struct CommandTraceTests {
  /// Runs a command, and returns what each of its processes found in `TRACEPARENT`, in order.
  static func parents(
    _ station: TracingStation, _ script: String = "echo $TRACEPARENT", items: Items? = .range(1...4),
    isSampled: Bool = true
  ) async throws -> [String] {
    let output = Mutable<[UInt8]>([])
    var assignment = Bench.assignment(1)
    assignment.trace.isSampled = isSampled
    let ending = try await station.run(assignment, station.command(script, items: items)) { message in
      if case .output(let chunk) = message { output.change { $0 += chunk.bytes } }
      return TracingStation.commits(message)
    }
    #expect(ending.outcome == .finished)
    return String(decoding: output.value, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  static func traceparent(_ span: SpanID?, isSampled: Bool = true) -> String {
    "00-\(Bench.trace.traceID)-\(span.map { "\($0)" } ?? "none")-\(isSampled ? "01" : "00")"
  }

  @Test func `a command is below its batch if that is certain to be sent, else below the run`() async throws {
    let station = try TracingStation()
    let parents = try await Self.parents(station)
    #expect(station.samples == ["0 first", "3 last"], "a command makes no batch more than there were")
    let (run, first) = (Self.traceparent(station.run?.id), Self.traceparent(station.batch(0)?.id))
    #expect(parents == [first, run, run, run])
    let all = try TracingStation(sampling: BatchSampling(interval: 1))
    let drawn = try await Self.parents(all)
    #expect(drawn == (0..<4).map { Self.traceparent(all.batch($0)?.id) })
    #expect(Set(drawn).count == 4)
  }

  @Test func `a command with a cursor outlives its batches, and is below the run`() async throws {
    let station = try TracingStation()
    let script = #"echo $TRACEPARENT; echo '{"completed": 1, "total": 2}' >&3; read answer <&4"#
    let parents = try await Self.parents(station, script, items: nil)
    #expect(parents == [Self.traceparent(station.run?.id)])
    #expect(station.samples == ["0 first"], "the end of a command with a cursor is no batch")
  }

  @Test(arguments: [true, false])
  func `a command is below the launch where nothing is recorded`(isSampled: Bool) async throws {
    let station = try isSampled ? TracingStation(tracer: NoOpTracer()) : TracingStation()
    let parents = try await Self.parents(station, items: .range(1...1), isSampled: isSampled)
    #expect(parents == [Self.traceparent(TracingStation.launchSpan, isSampled: isSampled)])
    #expect(station.sink.spans == [])
  }

  @Test(
    arguments: [
      ("exit 3", "exit 3"), ("kill -SEGV $$", "signal SIGSEGV"), ("exec /no/such/file", "exit 127"),
      ("echo nonsense >&3", "badProgress"),
    ])
  func `a command fails with one of few types, never with its message`(script: String, type: String) async throws {
    let station = try TracingStation()
    let items: Items? = type == "badProgress" ? nil : .range(1...2)
    let ending = try await station.run(Bench.assignment(1), station.command(script, items: items))
    #expect(ending.outcome.code == "failed" && ending.errorType == type)
    for span in [station.run, station.batch(0)] {
      #expect(span?["error.type"] == .string(type))
      #expect(span?.events.first?.attributes.first { $0.key == "exception.type" }?.value == "CommandError")
    }
    #expect(station.samples == ["0 failed"])
  }

  @Test func `what keeps a command from starting has the name of its code`() async throws {
    let station = try TracingStation()
    let definition = Bench.job { $0.work = Work(command: ["/no/such/command"], items: .range(1...1)) }
    #expect(try await station.run(Bench.assignment(1), definition).errorType == "notFound")
    #expect(CommandVerdict.failed(.signalled(60)).failure?.type == "signal 60")
  }
}

extension CommandVerdict {
  fileprivate var failure: CommandError? {
    do { try check({ "it" }, output: { [] }) } catch { return error as? CommandError }
    return nil
  }
}
