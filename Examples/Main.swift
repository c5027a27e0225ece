import BatonHandler
import BatonWorker
import Foundation
import Logging
import ServiceLifecycle

/// A worker with Swift handlers: `example-worker NAME DATA-FOLDER`. It connects to a coordinator on this machine.
@main
enum ExampleWorker {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else {
      print("usage: example-worker NAME DATA-FOLDER")
      exit(64)
    }
    // Each log line of a handler carries the trace of its request and the span in which it was written.
    LoggingSystem.bootstrap(
      { StreamLogHandler.standardError(label: $0, metadataProvider: $1) }, metadataProvider: .launch)

    let worker = Worker(WorkerConfiguration(name: arguments[1], dataFolder: arguments[2], slots: 2))

    // Batches of a collection. Each batch is durable before the next one begins, and a later launch continues after the
    // last durable batch.
    worker.register("com.example.db-cleanup") { task in
      let purgeable = Array(1...2_000)
      for try await batch in task.batches(of: purgeable, size: 50) {
        try await purge(batch)
      }
    }

    // A cursor of the handler's own, for work that is not a collection.
    worker.register("com.example.import.*") { task in
      let settings = try task.payload(as: ImportSettings.self)
      var position = try task.lastCheckpoint(as: Position.self) ?? Position(page: 0)
      while position.page < settings.pages {
        try Task.checkCancellation()  // Throws if the launch has expired. task.expiry has the reason and the deadline.
        task.update(subtitle: "page \(position.page + 1) of \(settings.pages), \(task.wildcard ?? "")")
        position.page += 1
        try await task.checkpoint(position, completed: Int64(position.page), of: Int64(settings.pages))
      }
    }

    try await ServiceGroup(
      services: [worker], gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "example-worker")
    ).run()
  }

  private static func purge(_ rows: ArraySlice<Int>) async throws {
    try await Task.sleep(for: .milliseconds(20))
  }
}

struct ImportSettings: Decodable {
  var pages: Int
}

struct Position: Codable {
  var page: Int
}
