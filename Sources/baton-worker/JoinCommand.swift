import ArgumentParser
import BatonBase
import BatonIdentity
import BatonProcess
import BatonWire
import BatonWorker

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `baton-worker join`: makes this host a member of a fleet whose coordinator runs on another machine.
struct JoinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join",
    abstract: "Join the fleet of a coordinator on another machine.",
    discussion: """
      An operator gets the whole command from 'baton host invite NAME'. The host's key is made here and never leaves \
      this machine. Afterwards 'baton-worker' connects to the coordinators of the fleet, and renews its certificate \
      by itself.

      Examples:
        echo bj1_… | baton-worker join base:7422 --pin sha256:1f0c… --token -
        baton-worker join base:7422 --pin sha256:1f0c… --token - < token
      """)

  @Argument(
    help: """
      Where the coordinator listens for hosts that join, HOST:PORT; of several, separated by commas, the first that \
      answers is asked.
      """)
  var coordinator: String
  @Option(help: "The pin of the fleet, as 'baton fleet' shows it.") var pin: String
  @Option(
    help: "The token of the invitation; - reads it from standard input, where no other user of this machine sees it.")
  var token: String
  @Option(help: "The worker's own folder (default: $XDG_STATE_HOME/baton/worker/NAME).") var data: String?

  mutating func run() async throws {
    var enrolment: Enrolment
    let key: HostKey
    do {
      enrolment = Enrolment(
        endpoints: try CoordinatorAddresses(parsing: coordinator).all, pin: try Pin(parsing: pin),
        token: try JoinToken(parsing: token == "-" ? readLine() ?? "" : token))
      enrolment.onWaiting = { number in
        StandardError.say(
          "baton-worker: waiting for an operator, who compares this number and runs 'baton host approve NAME \(number)': "
            + number)
      }
      key = HostKey()
    } catch {
      throw failure("\(error)", 64)
    }
    let identity: HostIdentity
    do {
      identity = try await enrolment.join(with: key)
    } catch let error as EnrolmentRefusal {
      throw failure("\(error)", 77)
    } catch let error as LinkError {
      throw failure("\(error)", error.code == .unreachable ? 69 : 77)
    } catch {
      throw failure("\(error)", 76)
    }
    let state = UserFolders.state { ProcessInfo.processInfo.environment[$0] }
    guard let folder = data ?? state.map({ "\($0)/worker/\(identity.host)" }) else {
      throw failure(UserFolders.noState, 78)
    }
    let known = try? HostIdentity.read(dataFolder: folder)
    do {
      _ = try WorkerFolders(data: folder)
      try identity.write(dataFolder: folder)
    } catch {
      throw failure("\(error)", 73)
    }
    let start = data == nil ? "baton-worker" : "baton-worker --data \(folder)"
    // A worker that runs reads the certificate again, and its addresses only when it starts.
    let goesOn = known.map {
      ($0.fleet, $0.host, $0.coordinator) == (identity.fleet, identity.host, identity.coordinator)
    }
    let advice =
      switch goesOn {
      case true?: "a worker that runs goes on by itself; otherwise start it with: "
      case false?: "start the worker again with: "
      case nil: "start the worker with: "
      }
    print("\(identity.host): joined fleet \(identity.fleet); \(advice)\(start)")
  }

  private func failure(_ text: String, _ status: Int32) -> ExitCode {
    StandardError.say("baton-worker: \(text)")
    return ExitCode(status)
  }
}
