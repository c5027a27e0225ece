import Foundation
import Synchronization

/// The binaries under test, built beside the tests.
enum Program: String {
  case baton
  case worker = "baton-worker"
  case handlerWorker = "handler-worker"

  var path: String {
    // Tests/EndToEndTests/Program.swift is three levels below the package; the tests run from its build folder.
    let build = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") }
    let folder = build.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
      ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
    return folder + "/" + rawValue
  }
}

/// A process of a test.
final class Child: Sendable {
  let process = Process()
  private let output = Pipe()
  private let errors = Pipe()
  private let errorText = Mutex("")

  init(_ program: Program, _ arguments: [String], environment: [String: String] = [:], currentDirectory: String? = nil)
    throws
  {
    process.executableURL = URL(fileURLWithPath: program.path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    if let currentDirectory { process.currentDirectoryURL = URL(fileURLWithPath: currentDirectory) }
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  var pid: Int32 { process.processIdentifier }

  func signal(_ number: Int32) { kill(pid, number) }

  /// The process's own children, as the system lists them thread by thread.
  var children: [Int32] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return threads.flatMap { thread in
      let text = (try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/children", encoding: .utf8)) ?? ""
      return text.split(separator: " ").compactMap { Int32($0) }
    }
  }

  /// The first line on standard error that contains `text`.
  func errorLine(containing text: String) async -> String {
    await withCheckedContinuation { continuation in
      Thread {
        var seen = ""
        while true {
          let data = self.errors.fileHandleForReading.availableData
          if data.isEmpty { return continuation.resume(returning: "") }
          seen += String(decoding: data, as: UTF8.self)
          if let line = seen.split(separator: "\n").first(where: { $0.contains(text) }), seen.hasSuffix("\n") {
            self.keepReadingErrors()
            return continuation.resume(returning: String(line))
          }
        }
      }.start()
    }
  }

  /// Nobody may block because a test does not read.
  func keepReadingErrors() {
    errors.fileHandleForReading.readabilityHandler = { handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil }
    }
  }

  /// What it printed, what it said, and its exit status; killed by a signal is 128 and the signal.
  func finished() async -> (status: Int32, output: String, errors: String) {
    await withCheckedContinuation { continuation in
      Thread {
        let errors = Mutex(Data())
        let reader = Thread { errors.withLock { $0 = self.errors.fileHandleForReading.readDataToEndOfFile() } }
        reader.start()
        let output = self.output.fileHandleForReading.readDataToEndOfFile()
        self.process.waitUntilExit()
        while !reader.isFinished { sched_yield() }
        let status = self.process.terminationStatus + (self.process.terminationReason == .uncaughtSignal ? 128 : 0)
        continuation.resume(
          returning: (
            status, String(decoding: output, as: UTF8.self),
            String(decoding: errors.withLock { $0 }, as: UTF8.self)
          ))
      }.start()
    }
  }

  func stop() {
    process.terminate()
    keepReadingErrors()
    process.waitUntilExit()
  }
}
