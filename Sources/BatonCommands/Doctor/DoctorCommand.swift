import ArgumentParser
import BatonDoctor
import BatonModel

struct DoctorCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check whether Baton runs well on this host.",
    discussion: """
      It looks at the data folders and what they are on, how fast writes are durable, the clock, control groups, \
      tokens and permissions, versions, limits, and what a worker's probes see. Nothing needs to run, and nothing is \
      changed: a scratch file is written in the data folder for about a second. Run it as the user that Baton runs as. \
      The coordinator that it asks is the one of --coordinator, else the one that the worker would connect to.

      Exit status 0 without problems, 1 with; warnings do not fail.

      Examples:
        baton doctor
        baton doctor --role coordinator --data /var/lib/baton
        baton doctor --role worker --worker-config /etc/baton/worker.yaml
        baton doctor -o json | jq -r '.[] | select(.level != "ok") | .found'
      """)

  @Option(
    help: ArgumentHelp("What the host is to be: coordinator or worker. Default: both.", valueName: "role"),
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
    if options.output == .table { console.note(summary) }
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
