import BatonHandler
import Synchronization

/// Imports one page after another with a cursor of its own. Between two pages it waits on a clock that a test can
/// replace.
struct Importer: Sendable {
  struct Settings: Codable {
    var pages: Int
  }

  struct Position: Codable, Equatable {
    var page: Int
  }

  let source: any PageSource
  let clock: any Clock<Duration>

  func run(_ task: JobTask) async throws {
    let settings = try task.payload(as: Settings.self)
    var position = try task.lastCheckpoint(as: Position.self) ?? Position(page: 0)
    while position.page < settings.pages {
      try Task.checkCancellation()
      task.update(subtitle: "page \(position.page + 1) of \(settings.pages)")
      try await source.importPage(position.page)
      position.page += 1
      try await task.checkpoint(position, completed: Int64(position.page), of: Int64(settings.pages))
      try await clock.sleep(for: .seconds(5))
    }
  }
}

protocol PageSource: Sendable {
  func importPage(_ page: Int) async throws
}

final class FakeSource: PageSource {
  private let imported = Mutex<[Int]>([])
  private let duringPage: @Sendable (Int) async throws -> Void

  var pages: [Int] { imported.withLock { $0 } }

  init(duringPage: @escaping @Sendable (Int) async throws -> Void = { _ in }) { self.duringPage = duringPage }

  func importPage(_ page: Int) async throws {
    try await duringPage(page)
    imported.withLock { $0.append(page) }
  }
}
