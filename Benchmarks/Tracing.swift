import Foundation

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// B9: the cost of tracing. It compares B1 with every span of every job sent to a sink on this machine to B1 without
/// tracing, alternately. The traced time ends when the sink has confirmed the coordinator's last span, not when the
/// last job has ended: most spans are sent after the jobs, and would otherwise not be part of the cost.
enum Tracing {
  static func measure(_ options: Options) async throws -> [Measurement] {
    let sink = try Child(["sink"])
    defer { sink.end() }
    let port = await sink.line { $0.hasPrefix("port ") }.dropFirst(5)
    // The last batch of spans is sent 200 ms after its first span instead of 5 s, because waiting is not part of the
    // cost.
    let on = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:\(port)", "OTEL_BSP_SCHEDULE_DELAY": "200"]
    var rates: (on: [Double], off: [Double]) = ([], [])
    let jobs = options.isSmall ? 10_000 : 50_000
    // A difference of a tenth is hard to see because runs differ by as much. Therefore there are at least seven rounds.
    let rounds = options.isSmall ? options.rounds : max(7, options.rounds)
    for _ in 0..<rounds {
      rates.off.append(try await Throughput.rate(jobs: jobs))
      rates.on.append(try await Throughput.rate(jobs: jobs, environment: on, untilSent: true))
      guard await sink.line({ $0.hasPrefix("took ") }) != "" else { fatalError("nothing was traced") }
    }
    return [
      Measurement(
        "B9 no-op jobs until their last span is confirmed, against no tracing", value: rates.on.median, unit: "jobs/s",
        limit: rates.off.median,
        target: 0.9)
    ]
  }
}

/// A tracing backend that costs as little as possible: it answers 200 to each request, and prints how many bytes it
/// received when a connection ends.
enum Sink {
  static func run() throws {
    let (server, port) = try Loopback.listening()
    say("port \(port)")
    while true {
      let connection = accept(server, nil, nil)
      guard connection >= 0 else { continue }
      Thread { say("took \(serve(connection)) bytes") }.start()
    }
  }

  /// Answers the requests of one connection until it ends. Returns the size of their bodies in bytes.
  private static func serve(_ connection: Int32) -> Int {
    defer { close(connection) }
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
    var (buffer, taken, wanted) = ([UInt8](repeating: 0, count: 1 << 18), 0, -1)
    var pending: [UInt8] = []
    while true {
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { return taken }
      pending += buffer[..<count]
      if wanted < 0, let body = bodyStart(pending) {
        wanted = bodyLength(pending[..<body])
        pending.removeFirst(body)
      }
      guard wanted >= 0, pending.count >= wanted else { continue }
      taken += wanted
      pending.removeFirst(wanted)
      wanted = -1
      _ = write(connection, answer, answer.count)
    }
  }

  private static func bodyStart(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (4...bytes.count).first { bytes[$0 - 4..<$0].elementsEqual([13, 10, 13, 10]) }
  }

  private static func bodyLength(_ head: ArraySlice<UInt8>) -> Int {
    let lines = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
    let length = lines.first { $0.hasPrefix("content-length:") }?.dropFirst("content-length:".count)
    return length.flatMap { Int($0.trimmingCharacters(in: .whitespaces)) } ?? 0
  }
}
