import Foundation

/// The binaries under test, built beside the tests.
enum Program: String {
  case baton
  case worker = "baton-worker"
  case handlerWorker = "handler-worker"
  case exampleWorker = "example-worker"
  case exampleClient = "example-client"

  var path: String {
    // Tests/EndToEndTests/Program.swift is three levels below the package; the tests run from its build folder.
    let build = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") }
    let folder =
      build.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
      ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
    return folder + "/" + rawValue
  }
}

/// A process of a test. The output of a command goes to files: no reader is needed for the command to go on, and no
/// other process can keep the files open. The standard error of a daemon goes to a pipe, so that a test can wait for a
/// line of it.
final class Child: Sendable {
  let process = Process()
  private let folder = NSTemporaryDirectory() + "baton-child-\(UUID().uuidString.prefix(8))"
  private let errors: Pipe?

  convenience init(
    _ program: Program, _ arguments: [String], environment: [String: String] = [:], currentDirectory: String? = nil,
    isDaemon: Bool = false
  ) throws {
    try self.init(
      path: program.path, arguments, environment: environment, currentDirectory: currentDirectory, isDaemon: isDaemon)
  }

  init(
    path: String, _ arguments: [String], environment: [String: String] = [:], currentDirectory: String? = nil,
    isDaemon: Bool = false
  ) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["output", "errors"] { _ = FileManager.default.createFile(atPath: folder + "/" + name, contents: nil) }
    errors = isDaemon ? Pipe() : nil
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    if let currentDirectory { process.currentDirectoryURL = URL(fileURLWithPath: currentDirectory) }
    process.standardOutput = FileHandle(forWritingAtPath: folder + "/output")
    process.standardError = errors ?? FileHandle(forWritingAtPath: folder + "/errors") as Any
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var pid: Int32 { process.processIdentifier }

  func signal(_ number: Int32) { kill(pid, number) }

  /// The process ids of the children, which the system lists for each thread.
  var children: [Int32] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return threads.flatMap { thread in
      let text = (try? String(contentsOfFile: "/proc/\(pid)/task/\(thread)/children", encoding: .utf8)) ?? ""
      return text.split(separator: " ").compactMap { Int32($0) }
    }
  }

  /// The first line on a daemon's standard error that contains `text`; empty if the daemon ends before it writes one.
  func errorLine(containing text: String) async -> String {
    guard let handle = errors?.fileHandleForReading else { return "" }
    return await withCheckedContinuation { continuation in
      Thread {
        var seen = ""
        while true {
          let data = handle.availableData
          if data.isEmpty { return continuation.resume(returning: "") }
          seen += String(decoding: data, as: UTF8.self)
          guard seen.hasSuffix("\n"), let line = seen.split(separator: "\n").first(where: { $0.contains(text) })
          else { continue }
          continuation.resume(returning: String(line))
          // The rest is read and dropped, so that the daemon never blocks on a full pipe.
          while !handle.availableData.isEmpty {}
          return
        }
      }.start()
    }
  }

  /// Waits for the end of the process, and returns its exit status, its output and its errors. The status of a process
  /// that a signal killed is 128 and the number of the signal.
  func finished() async -> (status: Int32, output: String, errors: String) {
    await withCheckedContinuation { continuation in
      Thread {
        self.process.waitUntilExit()
        let status = self.process.terminationStatus + (self.process.terminationReason == .uncaughtSignal ? 128 : 0)
        continuation.resume(returning: (status, self.text("output"), self.text("errors")))
      }.start()
    }
  }

  private func text(_ name: String) -> String {
    String(decoding: FileManager.default.contents(atPath: folder + "/" + name) ?? Data(), as: UTF8.self)
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}
