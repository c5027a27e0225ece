import ArgumentParser
import BatonProcess
import BatonWire
import BatonWorkerProgram

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `baton-worker` or `baton-worker run`: runs the worker of this host. It has no handlers in Swift; otherwise it is a
/// program as `WorkerProgram.main` makes one.
struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run the worker of this host (the default command).",
    discussion: "Settings come from flags, else from the environment (BATON_SLOTS), else from worker.yaml.")

  @OptionGroup var options: WorkerOptions

  mutating func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    // Reading the settings reads the host's identity.
    ProcessPrivacy.hide(environment: environment)
    let program: WorkerProgram
    do {
      program = try await WorkerProgram(options, environment: environment)
    } catch {
      StandardError.say("baton-worker: \(error)")
      throw ExitCode(64)
    }
    throw ExitCode(await program.run { _ in })
  }
}
