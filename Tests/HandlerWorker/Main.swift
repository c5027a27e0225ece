import BatonHandler
import BatonWorker
import BatonWorkerProgram
import Foundation
import Logging

/// A worker with Swift handlers whose settings are made in code, for the end-to-end tests:
/// `handler-worker COORDINATOR NAME DATA PIPE`.
@main
enum HandlerWorker {
  static func main() async {
    let arguments = CommandLine.arguments
    var configuration = WorkerConfiguration(
      coordinator: arguments[1], name: arguments[2], dataFolder: arguments[3], slots: 4)
    configuration.probesHost = false
    var program = WorkerProgram(configuration)
    program.transfers = nil
    program.logLevel = .critical
    exit(await program.run { register(at: $0, pipe: arguments[4]) })
  }

  private static func register(at worker: Worker, pipe: String) {
    worker.register("com.example.stubborn") { task in
      say("stubborn \(task.launch) \(company(of: task, beside: pipe))", to: pipe)
      // The first launch ignores its cancellation for ever.
      while task.launch == 1 { try? await Task.sleep(for: .seconds(3600), clock: .continuous) }
    }
    worker.register("com.example.spinning") { task in
      say("spinning \(task.launch) \(company(of: task, beside: pipe))", to: pipe)
      guard task.launch == 1 else { return }
      // The first launch keeps all threads of Swift's concurrency busy for ever.
      await withDiscardingTaskGroup { group in
        for _ in 0..<2 * ProcessInfo.processInfo.activeProcessorCount { group.addTask { while true {} } }
      }
    }
    worker.register("com.example.patient") { task in
      for try await batch in task.batches(of: 0..<1_000_000, size: 1) {
        say("patient \(task.launch) \(batch.first ?? -1)", to: pipe)
        if task.launch > 1 { return }
      }
    }
    worker.register("com.example.links") { task in
      let link = try task.payload(as: Int.self)
      // The next link is submitted first, as BackgroundTasks demands, until the file is there.
      if !FileManager.default.fileExists(atPath: pipe + ".stop") {
        try await task.submit("com.example.links", payload: link + 1)
      }
      append("\(task.request) \(link)", to: pipe)
      for try await _ in task.batches(of: 0..<3, size: 1) { try await Task.sleep(for: .milliseconds(5)) }
    }
  }

  /// Says whether the process of the first launch still exists when a later launch begins.
  private static func company(of task: JobTask, beside pipe: String) -> String {
    let file = "\(pipe).\(task.identifier)"
    if task.launch == 1 { try? String(getpid()).write(toFile: file, atomically: true, encoding: .utf8) }
    guard task.launch > 1, let pid = Int32((try? String(contentsOfFile: file, encoding: .utf8)) ?? "") else {
      return "alone"
    }
    return pid != getpid() && kill(pid, 0) == 0 ? "beside the first" : "alone"
  }

  private static func append(_ line: String, to path: String) {
    let file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
    let bytes = Array((line + "\n").utf8)
    _ = write(file, bytes, bytes.count)
    close(file)
  }

  private static func say(_ line: String, to pipe: String) {
    let file = open(pipe, O_WRONLY | O_NONBLOCK)
    let bytes = Array((line + "\n").utf8)
    _ = write(file, bytes, bytes.count)
    close(file)
  }
}
