import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import Synchronization

struct StoreCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Copy or move the coordinator's store.",
    discussion: """
      Examples:
        baton store backup /var/lib/baton-backups/monday.sqlite
        baton store move --to postgres://baton@db.example.com/baton
      """,
    subcommands: [StoreBackupCommand.self, StoreMoveCommand.self])
}

struct StoreBackupCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Write a copy of the store to a new file, while the coordinator runs.",
    discussion: """
      The coordinator writes FILE, on its own machine and as its own user: every submission and checkpoint that was \
      acknowledged before the command began is in it. Work goes on meanwhile. FILE appears when it is whole, synced \
      and checked, with mode 0600; until then it is FILE.part. FILE must be an absolute path that ends in .sqlite, in \
      a folder that no other user can write. The file must not exist, and no part of the path may be a symbolic link.

      With --data this command copies the store of a stopped coordinator itself.

      Exit status: 0 if FILE is there and whole; 4 if the path is not permitted, or its disk is full or fails; 75 if \
      the coordinator shuts down. Documentation/how-to/backup.md has how to restore.

      Examples:
        baton store backup /var/lib/baton-backups/monday.sqlite
        baton store backup /var/lib/baton-backups/stopped.sqlite --data /var/lib/baton
      """)

  @Argument(help: "The file to write; it must end in .sqlite.", completion: .file(extensions: ["sqlite"])) var file:
    String

  @Option(
    help: ArgumentHelp("The data folder of a stopped coordinator, whose store is copied.", valueName: "dir"),
    completion: .directory)
  var data: String?

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    if data != nil, client.coordinator != nil {
      throw ValidationError("--data copies a store without its coordinator: leave --coordinator out.")
    }
  }

  func run() async throws {
    let console = Console.current
    let meter = BackupMeter(console)
    let interruption: @Sendable () -> String = { "interrupted; no backup was written" }
    let summary = try await racing(interruption: interruption) {
      try await self.backUp(console.environment) { meter.note($0) }
    }
    meter.finish()
    console.emit(options.output, JSONValue(summary)) { [summary.line] }
  }

  private func backUp(
    _ environment: CommandEnvironment, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    if let data {
      do {
        return try await environment.backend.backUpStore(
          in: StateFolder.absolute(data, in: environment), to: StateFolder.absolute(file, in: environment), report)
      } catch let error as StoreError where error.code == .cannotWrite {
        // A running coordinator answers the same status if the disk is full or fails.
        throw CommandFailure(.refused, error.message.onOneLine)
      }
    }
    guard file.hasPrefix("/") else {
      throw CommandFailure(
        .usage,
        "the coordinator writes the file, on its own machine: give an absolute path, such as "
          + StateFolder.absolute(file, in: environment).onOneLine)
    }
    let file = file
    return try await client.connect { try await $0.backUpStore(to: file, report) }
  }
}

/// Shows the progress of a backup on standard error: on a terminal a line that is redrawn, elsewhere a line for
/// each quarter.
final class BackupMeter: Sendable {
  private let console: Console
  private let isTerminal: Bool
  private let told = Mutex<Int>(-1)

  init(_ console: Console) {
    self.console = console
    isTerminal = console.environment.isTerminal(.error) && console.environment.variables["TERM"] != "dumb"
  }

  func note(_ progress: BackupProgress) {
    guard progress.totalPages > 0 else { return }
    let percent = progress.pages * 100 / progress.totalPages
    let step = isTerminal ? percent : percent / 25
    let isNews = told.withLock { told in
      defer { told = max(told, step) }
      return step > told
    }
    guard isNews, isTerminal || percent >= 25 else { return }
    let text = percent == 100 ? "copied; checking the copy" : "\(percent) % copied"
    console.write(isTerminal ? "\r\u{1B}[K\(text)" : text + "\n", to: .error)
  }

  /// Erases the line on a terminal.
  func finish() { if isTerminal { console.write("\r\u{1B}[K", to: .error) } }
}

extension BackupSummary {
  /// The line of output: `/var/backups/monday.sqlite: 12 MiB, whole up to commit 48211 of store 3f0a`.
  fileprivate var line: String {
    let size = bytes < 1 << 20 ? "\(max(1, bytes >> 10)) KiB" : "\(bytes >> 20) MiB"
    return "\(path.onOneLine): \(size), whole up to commit \(receipt.sequence) of store \(receipt.store)"
  }
}

extension JSONValue {
  fileprivate init(_ summary: BackupSummary) {
    self = [
      "path": JSONValue(summary.path), "bytes": JSONValue(summary.bytes), "store": JSONValue(summary.receipt.store),
      "commit": .integer(summary.receipt.sequence),
    ]
  }
}
