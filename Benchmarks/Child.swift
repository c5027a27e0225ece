import BatonWire
import Foundation
import Synchronization

/// A process, and the lines it prints.
final class Child: Sendable {
  // Only started here and stopped once; Process says nothing about threads.
  private nonisolated(unsafe) let process = Process()
  private let lines = Mailbox<String>(capacity: 1 << 20)
  private let waiting = Mutex<[String]>([])

  /// - Parameter program: nil is this program, in another role.
  init(_ arguments: [String], _ environment: [String: String] = [:], program: String? = nil) throws {
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.executableURL = URL(fileURLWithPath: program ?? CommandLine.arguments[0])
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let (file, lines) = (fdopen(pipe.fileHandleForReading.fileDescriptor, "r"), lines)
    nonisolated(unsafe) let stream = file
    Thread {
      while let line = Self.readLine(stream) { lines.send(line) }
      lines.close()
      withExtendedLifetime(pipe) {}
    }.start()
  }

  private static func readLine(_ stream: UnsafeMutablePointer<FILE>?) -> String? {
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    guard let stream, getline(&line, &capacity, stream) > 0, let line else { return nil }
    return String(cString: line).trimmingCharacters(in: .newlines)
  }

  /// The next line that is as `condition` says; empty once the process has ended.
  func line(_ condition: (String) -> Bool) async -> String {
    while true {
      let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      if let next {
        if condition(next) { return next }
        continue
      }
      guard let more = await lines.receive() else { return "" }
      waiting.withLock { $0 = more }
    }
  }

  var pid: Int32 { process.processIdentifier }

  /// Processor time so far, in seconds, its own and that of the children it has reaped.
  var processorTime: Double { Self.processorTime(of: pid) }

  static func processorTime(of pid: Int32) -> Double {
    let stat = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    return fields.count > 14
      ? fields[11...14].compactMap { Double($0) }.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK))) : 0
  }

  /// A line of its status in mebibytes: `VmRSS` for what is resident, `VmHWM` for the most that ever was.
  func mebibytes(_ name: String) -> Double { Self.mebibytes(name, pid) }

  static func mebibytes(_ name: String, _ pid: Int32) -> Double {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
  }

  /// Those that it has started and that run.
  var children: [Int32] {
    // Each thread has those that it started.
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return threads.flatMap { thread in
      let list = try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/children", encoding: .utf8)
      return list?.split(separator: " ").compactMap { Int32($0) } ?? []
    }
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }

  /// For one that has nothing to close: SIGTERM is blocked where a thread of Swift's started it.
  func end() {
    kill(pid, SIGKILL)
    process.waitUntilExit()
  }
}
