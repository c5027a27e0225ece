import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel

struct SimulateTransferCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "transfer",
    abstract: "Fail a transfer, or interrupt it, as a test.",
    discussion: """
      A transfer that fails ends with the code 'simulated', which its job is told as any other failure. A transfer that \
      is interrupted loses its connection; its host tries again after the usual wait, and goes on where it was if the \
      server permits that. Exit status 4 if the transfer has ended, or if it does not run and is to be interrupted.

      Examples:
        baton simulate transfer 42/0 --interrupt
        baton simulate transfer 42/0 42/1 --fail
      """)

  @Argument(
    help: ArgumentHelp("The transfer, as the first column of 'baton transfers' names it.", valueName: "transfer"),
    transform: TransfersCommand.key)
  var transfers: [TransferKey]

  @Flag(help: "The transfer ends as failed.") var fail = false
  @Flag(help: "The connection of the transfer is lost.") var interrupt = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    guard fail != interrupt else { throw ValidationError("Say what to simulate: --fail or --interrupt.") }
  }

  func run() async throws {
    let (transfers, what) = (transfers, fail ? TransferSimulation.failure : .interruption)
    try await client.connect { api in for key in transfers { try await api.simulateTransfer(key, what) } }
    let rows = transfers.map { key in
      ["transfer": JSONValue("\(key)"), "what": JSONValue(what.rawValue), "simulated": .bool(true)] as JSONValue
    }
    Console.current.emit(options.output, list: rows) {
      transfers.map { "\($0): its host is told to \(fail ? "fail" : "interrupt") it, simulated" }
    }
  }
}
