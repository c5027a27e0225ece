import BatonHandler
import BatonWorkerProgram
import Tracing

/// A worker with handlers in Swift. It is all that `baton-worker` is, and has the same options and settings:
/// `example-worker --name desk`, `example-worker --config worker.yaml`.
@main
enum ExampleWorker {
  static func main() async {
    await WorkerProgram.main { worker in
      // Batches of a collection. Each batch is durable before the next one begins, and a later launch continues after
      // the last durable batch.
      worker.register("com.example.db-cleanup") { task in
        let purgeable = Array(1...2_000)
        for try await batch in task.batches(of: purgeable, size: 50) {
          try await withSpan("delete") { _ in try await purge(batch) }
        }
      }

      // A cursor of the handler's own, for work that is not a collection.
      worker.register("com.example.import.*") { task in
        let settings = try task.payload(as: ImportSettings.self)
        // checkCancellation throws if the launch has expired. task.expiry has the reason and the deadline.
        var position = try task.lastCheckpoint(as: Position.self) ?? Position(page: 0)
        while position.page < settings.pages {
          try Task.checkCancellation()
          task.update(subtitle: "page \(position.page + 1) of \(settings.pages), \(task.wildcard ?? "")")
          position.page += 1
          try await task.checkpoint(position, completed: Int64(position.page), of: Int64(settings.pages))
        }
      }

      // What another job names in `onFailure`.
      worker.register("com.example.repair") { task in
        let ended = try task.payload(as: EndedJob.self)
        if ended.state == .failed, ended.failure == "exit 3" { try await repair(ended.identifier) }
      }
    }
  }
}

struct ImportSettings: Decodable {
  var pages: Int
}

struct Position: Codable {
  var page: Int
}

func purge(_ rows: ArraySlice<Int>) async throws {
  try await Task.sleep(for: .milliseconds(20))
}

func repair(_ identifier: JobIdentifier) async throws {
  try await Task.sleep(for: .milliseconds(20))
}
