import BatonBase
import BatonWire
import Foundation
import Synchronization

/// A child process and the lines that it prints.
final class Child: Sendable {
  // The process is only started in `init` and ended once. Foundation does not document whether `Process` may be used
  // from several threads.
  private nonisolated(unsafe) let process = Process()
  private let lines = Mailbox<String>(capacity: 1 << 20)
  private let waiting = Mutex<[String]>([])

  /// - Parameter program: the path of the program; `nil` to start this program in another role.
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

  /// Returns the next line that fulfils `condition`, and drops the lines before it. Returns an empty text when the
  /// process has ended.
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

  /// The processor time so far in seconds, including that of children that the process has waited for.
  var processorTime: Double { Self.processorTime(of: pid) }

  static func processorTime(of pid: Int32) -> Double {
    let stat = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
    return fields.count > 14
      ? fields[11...14].compactMap { Double($0) }.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK))) : 0
  }

  /// A value of /proc/PID/status in MiB: `VmRSS` is the resident memory now, `VmHWM` is its maximum so far.
  func mebibytes(_ name: String) -> Double { Self.mebibytes(name, pid) }

  static func mebibytes(_ name: String, _ pid: Int32) -> Double {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
  }

  /// The ids of the running processes that this process has started.
  var children: [Int32] {
    // The kernel lists children by the thread that started them.
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

  /// Kills a process that has nothing to close. SIGTERM would not end it, because the signal is blocked in a process
  /// that one of Swift's threads started.
  func end() {
    kill(pid, SIGKILL)
    process.waitUntilExit()
  }
}
