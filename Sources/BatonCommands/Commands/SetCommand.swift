import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

struct SetCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Change a request while it waits or runs.",
    discussion: """
      spread=N sets how many shards of the request may be in work at once. Its definition must say 'work.spread'. If \
      the number rises, free hosts take shards at once, and running shards are split if none wait. If it falls, the \
      shards that are too many stop after their batch, with the reason 'laneLost', and wait for a lane. The number \
      holds for this request only.

      Examples:
        baton set com.example.sums spread=8
        baton set com.example.sums --request 3 spread=1
      """)

  @OptionGroup var request: RequestArgument
  @Argument(help: ArgumentHelp("What to change, and its value.", valueName: "setting=value"))
  var settings: [String]
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws { _ = try lanes() }

  func run() async throws {
    let (request, lanes) = (request, try lanes())
    let record = try await client.connect {
      try await $0.setSpread(request.identifier, number: request.request, lanes: lanes)
    }
    Console.current.emit(options.output, JSONValue(record)) {
      ["\(record.name): spread \(lanes)" + (record.shards.map { "; \($0.text)" } ?? "")]
    }
  }

  /// The number of the only setting.
  private func lanes() throws -> Int {
    guard settings.count == 1, let setting = settings.first, let equals = setting.firstIndex(of: "=") else {
      throw ValidationError("Write one setting, such as spread=8.")
    }
    guard setting[..<equals] == "spread" else {
      throw ValidationError("'\(setting[..<equals])' cannot be set. What can be set: spread.")
    }
    let bounds = Definition.Limits.spread
    guard let lanes = Int(setting[setting.index(after: equals)...]), bounds.contains(lanes) else {
      throw ValidationError("spread must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound).")
    }
    return lanes
  }
}
