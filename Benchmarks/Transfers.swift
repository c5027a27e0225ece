import BatonModel
import BatonTransfers
import Foundation
import Logging

/// B22: downloads in the process of a host's transfers, from a server on loopback in a process of its own. The limit of
/// a large file is `curl` with an fsync at the end, which does not compute a hash. The limit of many small files is
/// what the server alone can do: clients that write nothing fetch the same files on as many connections. It thinks for
/// a while before each answer, as a server elsewhere does.
enum Transfers {
  private static let thought = 20
  private static let atOnce = 4

  static func measure(_ options: Options) async throws -> [Measurement] {
    let megabytes = options.isSmall ? 64 : 1024
    let files = try Child([Role.files.rawValue, String(megabytes), String(thought)])
    defer { files.end() }
    let origin = await files.line { $0.hasPrefix("http") }
    guard let port = origin.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      preconditionFailure("the server of the files does not start")
    }
    var memory = Memory()
    let (own, limit) = try await options.medians {
      let (seconds, most) = try await time([Transfer(url: origin + "/large", to: "large")])
      memory.join(most)
      return (Double(megabytes) / seconds, Double(megabytes) / (try await curl(origin + "/large")))
    }
    let count = options.isSmall ? 100 : 1000
    let small = (0..<count).map { Transfer(url: origin + "/small", to: "small/\($0)") }
    let (rate, alone) = try await options.medians {
      let (seconds, most) = try await time(small)
      memory.join(most)
      let bare = try await FileServing.fetchSmall(count, port: port, connections: atOnce)
      return (Double(count) / seconds, Double(count) / bare)
    }
    return [
      Measurement(
        "B22 a download of \(megabytes) MiB, hashed and synced, against curl", value: own, unit: "MiB/s", limit: limit,
        target: 0.8),
      .bound("B22 the most memory of the transfers' own meanwhile", memory.own, "MiB", atMost: 32),
      .bound("B22 the same, with the pages of the program", memory.resident, "MiB", atMost: 32),
      Measurement(
        "B22 \(count) downloads of 10 kB, against the server alone, which thinks for \(thought) ms", value: rate,
        unit: "files/s", limit: alone, target: 0.8),
    ]
  }

  /// The most memory of a process, in MiB.
  private struct Memory {
    /// What the process wrote itself. The pages of its program are not counted: the worker and its supervisor run the
    /// same program, so the host has these pages once.
    var own = 0.0
    /// All pages that the process has touched.
    var resident = 0.0

    mutating func join(_ other: Memory) { (own, resident) = (max(own, other.own), max(resident, other.resident)) }
  }

  /// The seconds from the orders to the last end, and the most memory of the process meanwhile.
  private static func time(_ transfers: [Transfer]) async throws -> (seconds: Double, memory: Memory) {
    let folder = NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let process = try Child([Role.transfers.rawValue, folder])
    defer { process.end() }
    _ = await process.line { $0 == "ready" }
    guard let identifier = JobIdentifier("com.example.fetch"), let pattern = IdentifierPattern("com.example.fetch")
    else {
      preconditionFailure("the identifier is not valid")
    }
    let orders = transfers.enumerated().map { index, transfer in
      TransferOrder.carryOut(
        TransferAssignment(
          key: TransferKey(request: RequestID(1), index: index), transfer: transfer, identifier: identifier,
          pattern: pattern))
    }
    let client = TransferClient(folder: folder)
    let start = Date()
    for first in stride(from: 0, to: orders.count, by: TransferRequest.mostOrders) {
      _ = try await client.ask(.orders(Array(orders[first...].prefix(TransferRequest.mostOrders))))
    }
    let watching = Task {
      var most = 0.0
      while !Task.isCancelled {
        most = max(most, process.mebibytes("RssAnon"))
        try? await Task.sleep(for: .milliseconds(20))
      }
      return most
    }
    try await untilDone(transfers.count, client)
    let seconds = -start.timeIntervalSinceNow
    watching.cancel()
    return (seconds, Memory(own: await watching.value, resident: process.mebibytes("VmHWM")))
  }

  private static func untilDone(_ count: Int, _ client: TransferClient) async throws {
    var (cursor, done): (TransferCursor?, Set<TransferKey>) = (nil, [])
    while done.count < count {
      guard case .changes(let changes) = try await client.ask(.changes(since: cursor, atMost: 200, wait: 30_000)) else {
        preconditionFailure("the transfers tell no changes")
      }
      cursor = changes.cursor
      for status in changes.statuses {
        guard case .ended(let end) = status.state else { continue }
        guard case .done = end else { preconditionFailure("a transfer ended: \(end)") }
        done.insert(status.key)
      }
    }
  }

  /// The seconds that `curl` needs for the same file, with an fsync of the file and of its folder.
  private static func curl(_ url: String) async throws -> Double {
    let folder = NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let start = Date()
    let script = "curl --silent --fail --output \"$1/f\" \"$2\" && echo done"
    let child = try Child(["-c", script, "sh", folder, url], program: "/bin/sh")
    guard await child.line({ $0 == "done" }) == "done" else { preconditionFailure("curl did not fetch \(url)") }
    for path in [folder + "/f", folder] {
      let descriptor = open(path, O_RDONLY)
      guard fsync(descriptor) == 0 else { preconditionFailure("\(path) cannot be synced") }
      close(descriptor)
    }
    return -start.timeIntervalSinceNow
  }

  /// Runs the process of the transfers.
  static func run(folder: String) async throws {
    var settings = TransferSettings(folder: folder)
    (settings.atOnce, settings.minFree) = (atOnce, 0)
    try await TransferService(settings, conditions: .assumed, environment: [:], logger: Role.logger()) { say("ready") }
      .run()
  }
}
