import ArgumentParser
import BatonDoctor
import BatonJSON
import BatonModel

struct DoctorCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check whether Baton runs well on this host.",
    discussion: """
      It checks the data folders and their file systems, the speed of durable writes, the clock, control groups, \
      tokens and permissions, versions, limits, and the readings of a worker's probes. No process of Baton has to run. \
      It changes nothing, except for a scratch file that is in the data folder for about a second. Run it as the user \
      that Baton runs as. It asks the coordinator of --coordinator, otherwise the one to which the worker would \
      connect.

      Exit status: 0 if there is no problem, 1 if there is one; warnings count as no problem.

      Examples:
        baton doctor
        baton doctor --role coordinator --data /var/lib/baton
        baton doctor --role worker --worker-config /etc/baton/worker.yaml
        baton doctor -o json | jq -r '.[] | select(.level != "ok") | .found'
      """)

  @Option(
    help: ArgumentHelp("The role to check: coordinator or worker. Default: both.", valueName: "role"),
    transform: Arguments.word)
  var role: HostFacts.Role?

  @Option(help: ArgumentHelp("The coordinator's data folder.", valueName: "dir"), completion: .directory)
  var data: String?

  @Option(
    help: ArgumentHelp("The coordinator's configuration file.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var config: String?

  @Option(help: ArgumentHelp("The worker's data folder.", valueName: "dir"), completion: .directory)
  var workerData: String?

  @Option(
    help: ArgumentHelp("The worker's configuration file.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var workerConfig: String?

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let findings = await console.environment.backend.examineHost(examination(in: console.environment)).findings
    console.emit(options.output, list: findings.map { JSONValue($0) }) {
      findingLines(findings, console.style(of: .output))
    }
    let summary = summary(of: findings)
    if findings.contains(where: { $0.level == .problem }) { throw CommandFailure(.failed, summary) }
    if options.output.isTable { console.note(summary) }
  }

  private func examination(in environment: CommandEnvironment) -> DoctorOptions {
    func absolute(_ path: String) -> String { StateFolder.absolute(path, in: environment) }
    return DoctorOptions(
      roles: role.map { [$0] } ?? Set(HostFacts.Role.allCases),
      coordinator: CoordinatorOptions(dataFolder: data.map(absolute), configurationFile: config.map(absolute)),
      workerFolder: workerData.map(absolute), workerSettings: workerConfig.map(absolute),
      target: client.target(in: environment), address: client.coordinator)
  }
}

extension JSONValue {
  init(_ finding: Finding) {
    self = [
      "area": JSONValue(finding.area.rawValue), "check": JSONValue(finding.check),
      "level": JSONValue(finding.level.rawValue), "found": JSONValue(finding.found.onOneLine),
      "remedy": JSONValue(finding.remedy?.onOneLine),
    ]
  }
}
